// Package monitoring tests the alerts and the dashboard of config/monitoring with Prometheus' own parser and engine. The package is a
// separate module, because Prometheus is a large dependency. It contains only tests.
package monitoring
