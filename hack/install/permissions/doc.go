// Package permissions extracts the permissions of a role, and the requests of an account from an audit log, so that tests can compare them.
// The tests run the real binary with its own account on a real API server, and check that the roles of config grant exactly the
// permissions that the binary uses.
package permissions
