package main

import (
	"net/http"
	"net/http/pprof"
)

// debugHandler shows profiles of the process. They tell what is in memory, so they have an address of their own that is off
// unless it is asked for; the paths are those that go tool pprof knows.
func debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	return mux
}
