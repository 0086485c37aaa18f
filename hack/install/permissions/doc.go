// Package permissions reads what a role allows, and from an audit log what somebody did, so that the two can be compared:
// its test runs the real binary under its own account against a real API server, and holds that config/rbac grants each
// thing that the binary does and nothing that it does not.
package permissions
