// Package permissions extracts the permissions of a role, and the requests of an account from an audit log, so that the two can be
// compared. Its test runs the real binary with its own account on a real API server, and checks that config/rbac grants exactly
// what the binary uses.
package permissions
