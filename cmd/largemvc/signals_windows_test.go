package main

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/windows"
)

// ready gives the process a group of its own, to which its console can send a request that does not reach the tests.
func ready(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

var allocConsole = windows.NewLazySystemDLL("kernel32.dll").NewProc("AllocConsole")

// requests is the one that a console lets a program send to others: Ctrl-Break, which Go takes for an interrupt as it does
// Ctrl-C.
func requests(t *testing.T) []request {
	// Tests that no console started get one, which their processes inherit; those that have one are refused another.
	if ok, _, err := allocConsole.Call(); ok == 0 && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		t.Skip("no console, hence nothing that could send a request: ", err)
	}
	return []request{{"Ctrl-Break", func(c *exec.Cmd) error {
		return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(c.Process.Pid))
	}}}
}
