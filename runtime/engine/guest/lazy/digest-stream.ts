// crypto.DigestStream: a writable stream that computes the digest of everything written to it. The host keeps the
// state. lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';

const algorithms = ['MD5', 'SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'];

export default function createDigestStream(deps: LazyDeps): Record<string, unknown> {
  const { WritableStream, DOMException, encodeUtf8, host, isAnyArrayBuffer } = deps;

  class DigestStream extends WritableStream<unknown> {
    #digest: Promise<ArrayBuffer>;
    #bytesWritten = 0;

    /** @param algorithm MD5, SHA-1, SHA-256, SHA-384 or SHA-512, or an object with this name */
    constructor(algorithm: string | { readonly name: string }) {
      const name = String(
        typeof algorithm === 'object' && algorithm !== null ? algorithm.name : algorithm,
      ).toUpperCase();
      if (!algorithms.includes(name))
        throw new DOMException(`The digest algorithm ${name} is not known`, 'NotSupportedError');
      let handle = 0;
      let resolve: (digest: ArrayBuffer) => void = () => {};
      let reject: (reason: unknown) => void = () => {};
      const push = async (bytes: Uint8Array, last: boolean): Promise<readonly (string | Uint8Array)[]> => {
        const reply = await host.call('crypto.digestPush', { handle, algorithm: name, last }, [bytes]);
        ({ handle } = reply.value as { handle: number });
        return reply.parts;
      };
      const count = (bytes: number): void => {
        this.#bytesWritten += bytes;
      };
      super({
        async write(chunk) {
          const bytes =
            typeof chunk === 'string'
              ? encodeUtf8(chunk)
              : ArrayBuffer.isView(chunk)
                ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength).slice()
                : isAnyArrayBuffer(chunk)
                  ? new Uint8Array(chunk as ArrayBuffer).slice()
                  : null;
          if (bytes === null) throw new TypeError('A DigestStream takes strings, ArrayBuffers and views of them');
          count(bytes.byteLength);
          await push(bytes, false).catch((error: unknown) => {
            reject(error);
            throw error;
          });
        },
        async close() {
          const [digest] = await push(new Uint8Array(0), true);
          resolve((digest as Uint8Array<ArrayBuffer>).slice().buffer);
        },
        async abort(reason) {
          reject(reason);
          if (handle !== 0) await push(new Uint8Array(0), true);
        },
      });
      this.#digest = new Promise((settle, fail) => {
        resolve = settle;
        reject = fail;
      });
      // Code that only writes does not have to handle a rejection of the digest.
      this.#digest.catch(() => {});
    }

    get digest(): Promise<ArrayBuffer> {
      return this.#digest;
    }

    get bytesWritten(): number {
      return this.#bytesWritten;
    }
  }
  return { DigestStream };
}
