// Package monitoring holds the alerts and the dashboard of config/monitoring against Prometheus' own parser and engine. It
// is a module of its own since Prometheus is heavy; it has tests and nothing else.
package monitoring
