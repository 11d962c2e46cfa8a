//go:build !linux

package main

import "errors"

func diskRate([]string) (float64, error) {
	return 0, errors.New("the rate of a disk is measured on Linux alone")
}
