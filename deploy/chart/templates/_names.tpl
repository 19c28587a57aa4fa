{{- /* Labels of every object. Helm adds that it manages them. */ -}}
{{- define "seaworthy.labels" -}}
{{ include "seaworthy.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "seaworthy.selector" -}}
app.kubernetes.io/name: seaworthy-operator
{{- end }}

{{- define "seaworthy.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}
