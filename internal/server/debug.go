package server

import (
	"net/http"
	"net/http/pprof"
)

// debugHandler serves profiles of the process. Profiles show memory contents, so the server serves them only on a separate address, which
// is disabled by default. go tool pprof expects these paths.
func debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	return mux
}
