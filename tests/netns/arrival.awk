# Reads what udprecv --interval 20 printed while class a (port 10194) of the demo was changed, first to 300 Mbit/s and then,
# every other time, back to 500; a mark precedes each change. When was the new rate there? At the start of the first window from
# which on 100 ms have, in mean, every class within 3 % of its new share of what was delivered, and at least 0.9 Gbit/s
# delivered. Exit 1 if that took longer than `limit` ms.

# After an odd mark a is at its limit of 300, b and c share the rest; after an even one 5:1:1.
function ideal(port, total) {
	if (odd)
		return port == 10194 ? 300 : (total - 300) / 2
	return port == 10194 ? total * 5 / 7 : total / 7
}
function mean(w, port,  k, sum) {
	for (k = w; k < w + 5; k++)
		sum += rate[k, port]
	return sum / 5
}
function settled(w,  p, total) {
	for (p in port)
		total += mean(w, p)
	if (total < 900)
		return 0
	for (p in port)
		if (mean(w, p) < ideal(p, total) * 0.97 || mean(w, p) > ideal(p, total) * 1.03)
			return 0
	return 1
}
function judge(  w, t) {
	if (!mark)
		return
	for (w = 1; w + 4 <= n && !settled(w); w++)
		;
	t = w + 4 <= n ? (from[w] - mark) / 1e6 : 1e9
	if (t < 0)
		t = 0
	printf "change %d: new rate after %.0f ms\n", ++changes, t
	if (t > worst)
		worst = t
}
/^mark/ { judge(); mark = $2; n = 0; odd = !odd; next }
/^window/ {
	port[$3] = 1
	if ($2 != last) { n++; from[n] = last; last = $2 }
	rate[n, $3] = $5
}
END { judge(); printf "changes=%d worst_ms=%.0f\n", changes, worst; exit !(changes > 0 && worst <= limit) }
