package main

import (
	"strings"

	"golang.org/x/sys/windows/registry"
)

// processor is the name of the CPU, or "" where the system does not tell.
func processor() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	name, _, _ := key.GetStringValue("ProcessorNameString")
	return strings.TrimSpace(name)
}
