// Packages with WebAssembly in them: one as text, one as a file. Run by test/integration/packages.test.ts.
import { blake3, createSHA256, sha1, xxhash64 } from 'hash-wasm';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import resvg from '@resvg/resvg-wasm/index_bg.wasm';

let ready;

export default {
  async fetch(request) {
    if (new URL(request.url).pathname === '/image') {
      await (ready ??= initWasm(resvg));
      const png = new Resvg(
        '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="red"/></svg>',
      )
        .render()
        .asPng();
      return new Response(png, { headers: { 'content-type': 'image/png' } });
    }
    const running = await createSHA256();
    return Response.json([
      await sha1('abc'),
      (await blake3('abc')).slice(0, 16),
      await xxhash64('abc'),
      running.init().update('abc').digest('hex').slice(0, 16),
    ]);
  },
};
