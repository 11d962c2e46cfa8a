package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// component is a module in the list of what a program is made of, by CycloneDX 1.5.
type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// billOfMaterials is the CycloneDX list of what is linked into the command for a target: Go's standard library and the modules,
// each module with its line of go.sum.
func billOfMaterials(b *builder, t target) ([]byte, error) {
	modules, err := b.linked(t)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(b.root, "go.sum"))
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 {
			sums[fields[0]+"@"+fields[1]] = fields[2]
		}
	}
	std, err := b.goVersion()
	if err != nil {
		return nil, err
	}
	var list struct {
		Format   string `json:"bomFormat"`
		Spec     string `json:"specVersion"`
		Version  int    `json:"version"`
		Metadata struct {
			Timestamp string    `json:"timestamp"`
			Component component `json:"component"`
		} `json:"metadata"`
		Components []component `json:"components"`
	}
	list.Format, list.Spec, list.Version = "CycloneDX", "1.5", 1
	list.Metadata.Timestamp = b.when.Format(time.RFC3339)
	list.Metadata.Component = named("application", "github.com/largemvc/largemvc", b.version)
	list.Metadata.Component.PURL = purl("github.com/largemvc/largemvc", moduleVersion(b))
	list.Components = []component{named("library", "std", strings.TrimPrefix(std, "go"))}
	for _, m := range modules {
		c := named("library", m.path, m.version)
		if sum := sums[m.path+"@"+m.version]; sum != "" {
			c.Properties = []property{{"go.sum", sum}}
		}
		list.Components = append(list.Components, c)
	}
	return json.MarshalIndent(list, "", "  ")
}

// named returns a component with its package URL.
func named(kind, path, version string) component {
	return component{Type: kind, Name: path, Version: version, PURL: purl(path, version)}
}

// purl returns the package URL of a version of a module. A plus sign is escaped there.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// moduleVersion returns the version of the command's module in the form of Go, v0.1.0. Without a tag it is the commit's number.
func moduleVersion(b *builder) string {
	if strings.Contains(b.version, ".") {
		return "v" + b.version
	}
	return b.version
}
