package process

import "syscall"

// groupAttr puts a child into a group of its own and has the kernel kill it when the parent's thread ends.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
