module seaworthy.dev/e2e/webd

go 1.26.0
