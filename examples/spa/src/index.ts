// The worker behind the single-page app: only /api/* comes here, every other path is a file or the page itself.

interface City {
  readonly name: string;
  readonly zone: string;
}

const cities: readonly City[] = [
  { name: 'Berlin', zone: 'Europe/Berlin' },
  { name: 'Nairobi', zone: 'Africa/Nairobi' },
  { name: 'New York', zone: 'America/New_York' },
  { name: 'Santiago', zone: 'America/Santiago' },
  { name: 'Tokyo', zone: 'Asia/Tokyo' },
  { name: 'Sydney', zone: 'Australia/Sydney' },
];

export default {
  fetch(request: Request): Response {
    const { pathname } = new URL(request.url);
    if (pathname === '/api/cities') return Response.json({ cities });
    if (pathname === '/api/now')
      return Response.json({ now: Date.now() }, { headers: { 'cache-control': 'no-store' } });
    return Response.json({ error: `No such endpoint: ${pathname}` }, { status: 404 });
  },
};
