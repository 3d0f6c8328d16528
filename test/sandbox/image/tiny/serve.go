package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fwCfg is where the kernel shows what QEMU handed over with -fw_cfg.
const fwCfg = "/sys/firmware/qemu_fw_cfg/by_name"

// serve answers plain HTTP on the ports of an OpenShift node, and on 8080.
//
//	/__state              facts about the machine, JSON
//	/__fw_cfg/NAME        the firmware configuration item NAME, as it is
//	anything else         the machine's name
func serve(seed seed) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		name, _ := os.Hostname()
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintln(w, name)
	})
	mux.HandleFunc("/__state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(readState(seed)); err != nil {
			log.Print(err)
		}
	})
	mux.HandleFunc("/__fw_cfg/", func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Clean("/" + strings.TrimPrefix(r.URL.Path, "/__fw_cfg/"))
		content, err := os.ReadFile(filepath.Join(fwCfg, name, "raw"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	})
	for _, port := range []string{"80", "443", "6443", "22623", "8080"} {
		go func() {
			for {
				log.Printf("port %s: %v", port, http.ListenAndServe(":"+port, mux))
				time.Sleep(time.Second)
			}
		}()
	}
}
