// A download of 10 MB, made as it is taken. Served as it stands by our handler, workerd, Deno and Bun.
const chunk = new Uint8Array(64 * 1024).fill(120);

export default {
  fetch() {
    let left = 160;
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(chunk);
        if (--left === 0) controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'application/octet-stream' } });
  },
};
