import type { RequestHandler } from '@builder.io/qwik-city';

export const onGet: RequestHandler = async ({ getWritableStream, headers }) => {
  headers.set('content-type', 'text/html; charset=utf-8');
  const writer = getWritableStream().getWriter();
  const encoder = new TextEncoder();
  await writer.write(encoder.encode('<p>first part</p>'));
  await new Promise((resolve) => setTimeout(resolve, 500));
  await writer.write(encoder.encode('<p>second part</p>'));
  await writer.close();
};
