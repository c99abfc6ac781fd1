// Answers what public/ does not: see `assets` in platform.yaml.
export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === '/api/time') return Response.json({ time: new Date().toISOString() });
    return Response.json({ error: 'Not found' }, { status: 404 });
  },
};
