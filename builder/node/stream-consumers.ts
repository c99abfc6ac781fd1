// node:stream/consumers: a whole stream, from Node or the Web, as one value. Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';

type Source = AsyncIterable<Uint8Array | string>;

export async function buffer(source: Source): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks);
}

export async function arrayBuffer(source: Source): Promise<ArrayBuffer> {
  const { buffer: memory, byteOffset, byteLength } = await buffer(source);
  return memory.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

export async function blob(source: Source): Promise<Blob> {
  return new Blob([await arrayBuffer(source)]);
}

export async function text(source: Source): Promise<string> {
  return new TextDecoder().decode((await buffer(source)) as Uint8Array<ArrayBuffer>);
}

export async function json(source: Source): Promise<unknown> {
  return JSON.parse(await text(source));
}

export default { arrayBuffer, blob, buffer, json, text };
