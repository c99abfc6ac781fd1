// Ten server-sent events, made as they are taken.
const encoder = new TextEncoder();

export default {
  fetch() {
    let number = 0;
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(encoder.encode(`data: ${JSON.stringify({ number, text: 'something happened' })}\n\n`));
        if (++number === 10) controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } });
  },
};
