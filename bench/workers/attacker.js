// A tenant who takes what it can get, also in handlers of events, which spin: /burn?loops= CPU within its budget, /spin
// for ever, /allocate 64 MB a request, /overflow its heap.
function spin() {
  for (;;);
}

export default {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/burn') {
      let x = 1;
      for (let left = Number(searchParams.get('loops')); left > 0; left--) x = (x * 48271) % 2147483647;
      return new Response(String(x));
    }
    if (pathname === '/spin') for (;;);
    if (pathname === '/allocate') return new Response(String(new Uint8Array(64 * 1024 * 1024).fill(1).at(-1)));
    if (pathname === '/overflow') for (const kept = []; ;) kept.push(Array.from({ length: 1000 }, () => kept.length));
    return new Response('attacker');
  },
  message: spin,
  timer: spin,
  scheduled: spin,
  workflows: { orders: { handler: spin } },
};
