// Beside static files: answers `/api` alone. For a peer without static files a first line sets the text of the page.
export default {
  fetch(request) {
    if (new URL(request.url).pathname.startsWith('/api')) return Response.json({ ok: true });
    const page = globalThis.PAGE;
    if (page === undefined) return new Response('not found', { status: 404 });
    return new Response(page, { headers: { 'content-type': 'text/html; charset=utf-8' } });
  },
};
