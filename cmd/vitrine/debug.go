package main

import (
	"net/http"
	"net/http/pprof"
)

// debugHandler serves profiles of the process. Profiles show memory contents, so they are served on a separate address, which is off by
// default. The paths are those that go tool pprof expects.
func debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	return mux
}
