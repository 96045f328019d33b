#!/usr/bin/env bash
# Writes a configuration too large to be kept as a file: an uplink shared by LEAVES customers, a class each with a
# share and an upper limit of 13,107,200 bit/s, customer i being 10.x.y.z with i = xyz.
#   configs/generate.sh [LEAVES] [RATE]    default 13706 customers on 10gbit
set -eu
leaves=${1:-13706} rate=${2:-10gbit}
awk -v leaves="$leaves" -v rate="$rate" 'BEGIN {
	print "{\"ports\": {\"in\": {\"device\": \"eth1\"}, \"out\": {\"device\": \"eth2\"}},"
	print " \"bridges\": {\"br0\": {\"ports\": [\"in\", \"out\"]}},"
	printf " \"shapers\": {\"out\": {\"port\": \"out\", \"rate\": \"%s\", \"default\": \"rest\", \"classes\": {\n", rate
	for (i = 1; i <= leaves; i++)
		printf "  \"c%d\": {\"ls\": 13107200, \"ul\": 13107200},\n", i
	print "  \"rest\": {\"ls\": 13107200}}}},"
	print " \"classifiers\": {\"out\": ["
	for (i = 1; i <= leaves; i++)
		printf "  {\"dst\": \"10.%d.%d.%d\", \"class\": \"c%d\"}%s\n", int(i / 65536), int(i / 256) % 256, i % 256, i, i < leaves ? "," : "]}}"
}'
