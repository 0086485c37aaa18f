//go:build unix && !linux

package process

import "syscall"

// groupAttr puts a child into a group of its own; see watchGroup for what happens when the parent ends.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
