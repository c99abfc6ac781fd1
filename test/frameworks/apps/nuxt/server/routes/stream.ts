export default defineEventHandler((event) => {
  setHeader(event, 'content-type', 'text/html; charset=utf-8');
  return new ReadableStream({
    async start(controller) {
      const encoder = new TextEncoder();
      controller.enqueue(encoder.encode('<p>first part</p>'));
      await new Promise((resolve) => setTimeout(resolve, 500));
      controller.enqueue(encoder.encode('<p>second part</p>'));
      controller.close();
    },
  });
});
