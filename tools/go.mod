module github.com/largemvc/largemvc/tools

go 1.25.0
