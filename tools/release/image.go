package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// descriptor names a blob of an image by its content (OCI image specification 1.1).
type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
}

// layout is an image while it is written: its files by their names.
type layout struct{ files []file }

func (l *layout) blob(kind string, data []byte) descriptor {
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	l.files = append(l.files, file{name: "blobs/sha256/" + digest, data: data, mode: 0o644})
	return descriptor{MediaType: "application/vnd.oci.image." + kind, Digest: "sha256:" + digest, Size: len(data)}
}

func (l *layout) json(kind string, x any) (descriptor, error) {
	data, err := json.Marshal(x)
	return l.blob(kind, data), err
}

// image returns an OCI archive with one layer for each target, the files of the command, which runs without a file system below.
// podman load and docker load read it.
func image(version string, when time.Time, targets []target, of func(target) ([]file, error)) ([]byte, error) {
	var l layout
	var manifests []descriptor
	for _, t := range targets {
		files, err := of(t)
		if err != nil {
			return nil, err
		}
		layer, err := packed(files, when)
		if err != nil {
			return nil, err
		}
		diff := fmt.Sprintf("sha256:%x", sha256.Sum256(layer))
		config, err := l.json("config.v1+json", map[string]any{
			"created": when.Format(time.RFC3339), "os": t.os, "architecture": t.arch,
			"config": map[string]any{"Entrypoint": []string{"/largemvc"}, "User": "65532", "WorkingDir": "/data"},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{diff}},
		})
		if err != nil {
			return nil, err
		}
		manifest, err := l.json("manifest.v1+json", map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
			"layers": []descriptor{l.blob("layer.v1.tar", layer)},
		})
		if err != nil {
			return nil, err
		}
		manifest.Platform = map[string]string{"os": t.os, "architecture": t.arch}
		manifests = append(manifests, manifest)
	}
	list := map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
	inner, err := l.json("index.v1+json", list)
	if err != nil {
		return nil, err
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{map[string]any{
		"mediaType": inner.MediaType, "digest": inner.Digest, "size": inner.Size,
		"annotations": map[string]string{
			"org.opencontainers.image.ref.name": version, "io.containerd.image.name": "largemvc:" + version,
		},
	}}})
	l.files = append(l.files, file{name: "oci-layout", data: []byte(`{"imageLayoutVersion":"1.0.0"}`), mode: 0o644},
		file{name: "index.json", data: index, mode: 0o644})
	if err != nil {
		return nil, err
	}
	return packed(l.files, when)
}
