// WebAssembly.compileStreaming and instantiateStreaming (WebAssembly Web API), which V8 leaves to the embedder. V8's
// WebAssembly object does not exist while the snapshot is created, so ../fences.ts defines them in each isolate.
import { isResponse, type Response } from './response.ts';

export interface Compiler {
  compile(bytes: ArrayBuffer): Promise<unknown>;
  instantiate(bytes: ArrayBuffer, imports: unknown): Promise<unknown>;
}

/** The bytes of a response to compile. @throws {TypeError} for anything else. */
async function moduleBytes(source: unknown): Promise<ArrayBuffer> {
  const response = await source;
  if (!isResponse(response)) throw new TypeError('A module can only be compiled from a Response');
  return readModule(response);
}

function readModule(response: Response): Promise<ArrayBuffer> {
  const type = response.headers.get('content-type') ?? '';
  if (!/^[\t ]*application\/wasm[\t ]*$/i.test(type))
    throw new TypeError(`The content-type of a module must be application/wasm, not "${type}"`);
  if (!response.ok) throw new TypeError(`A module cannot be compiled from a response with status ${response.status}`);
  return response.arrayBuffer();
}

/** Both functions are implemented with V8's own functions. */
export function wasmStreaming({ compile, instantiate }: Compiler): object {
  return {
    async compileStreaming(source: unknown): Promise<unknown> {
      return compile(await moduleBytes(source));
    },
    // The property `length` of a function does not include the optional second parameter.
    async instantiateStreaming(source: unknown, imports: unknown = undefined): Promise<unknown> {
      return instantiate(await moduleBytes(source), imports);
    },
  };
}
