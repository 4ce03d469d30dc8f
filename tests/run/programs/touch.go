// Creates the file of its argument.
package main

import "os"

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	file.Close()
}
