//go:build unix

package main

import (
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// ready prepares a process for the requests.
func ready(*exec.Cmd) {}

// requests are the signals that ask a process to end.
func requests(t *testing.T) []request {
	asked := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}
	if signal.Ignored(syscall.SIGHUP) {
		t.Log("these tests were told to outlive their terminal (nohup), and so were the trainings: SIGHUP is not tried")
	} else {
		asked = append(asked, syscall.SIGHUP)
	}
	var all []request
	for _, s := range asked {
		all = append(all, request{s.String(), func(c *exec.Cmd) error { return c.Process.Signal(s) }})
	}
	return all
}
