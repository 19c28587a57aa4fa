// Command webd is the daemon that the real tests install, upgrade and repair on hosts.
//
// It reads a configuration file with the keys "listen" and "greeting", and answers
//
//	GET /         the greeting
//	GET /version  the version that was linked in
//	GET /healthz  "ok", or status 503 in a build that was linked with sick=true
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
)

// Set by the linker, so that one source gives several releases with different digests.
var (
	version = "0.0.0"
	sick    = "false"
)

func main() {
	log.SetFlags(0)
	path := flag.String("config", "/etc/webd.conf", "configuration file")
	flag.Parse()

	config, err := readConfig(*path)
	if err != nil {
		log.Fatalf("webd: %v", err)
	}
	http.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, config.greeting) })
	http.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, version) })
	http.HandleFunc("/healthz", health)
	log.Printf("webd %s listens on %s", version, config.listen)
	log.Fatalf("webd: %v", http.ListenAndServe(config.listen, nil))
}

func health(w http.ResponseWriter, _ *http.Request) {
	if sick == "true" {
		http.Error(w, "sick", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

type config struct {
	listen   string
	greeting string
}

// readConfig reads "key = value" lines; empty lines and lines that start with '#' are skipped.
func readConfig(path string) (config, error) {
	file, err := os.Open(path)
	if err != nil {
		return config{}, err
	}
	defer file.Close()

	parsed := config{}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found {
			return config{}, fmt.Errorf("%s:%d: expected key = value", path, number)
		}
		switch strings.TrimSpace(key) {
		case "listen":
			parsed.listen = strings.TrimSpace(value)
		case "greeting":
			parsed.greeting = strings.TrimSpace(value)
		default:
			return config{}, fmt.Errorf("%s:%d: unknown key %q", path, number, strings.TrimSpace(key))
		}
	}
	if err := lines.Err(); err != nil {
		return config{}, err
	}
	if parsed.listen == "" {
		return config{}, errors.New(path + ": listen is missing")
	}
	return parsed, nil
}
