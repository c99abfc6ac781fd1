// WebAssembly modules put together by hand, for workers of tests: functions of one type that are all exported by their
// numbers.

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/** A number as LEB128 without a sign. */
function leb(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}

function sized(bytes: readonly number[]): number[] {
  return [...leb(bytes.length), ...bytes];
}

function list(items: readonly (readonly number[])[]): number[] {
  return [...leb(items.length), ...items.flat()];
}

/** A section of a module. */
export function section(id: number, content: readonly number[]): number[] {
  return [id, ...sized(content)];
}

/** What a module may have beside its functions: whole sections, in the order of their ids. */
interface WasmParts {
  /** Types of parameters and of results of each function; by default `() => ()`. */
  readonly type?: readonly [parameters: readonly number[], results: readonly number[]];
  /** Sections between those of functions and exports: tables (4), memories (5), tags (13), globals (6). */
  readonly before?: readonly number[];
  /** Sections between those of exports and code: elements (9). */
  readonly elements?: readonly number[];
  /** Declarations of locals of each function. */
  readonly locals?: readonly number[];
}

/**
 * A module of functions with these instructions, of which the last `end` is added.
 *
 * @example wasmModule([[0x12, 0x00]]) // (func (export "0") return_call 0)
 */
export function wasmModule(bodies: readonly (readonly number[])[], parts: WasmParts = {}): number[] {
  const [parameters, results] = parts.type ?? [[], []];
  return [
    ...HEADER,
    ...section(1, list([[0x60, ...sized(parameters), ...sized(results)]])),
    ...section(3, list(bodies.map(() => [0x00]))),
    ...(parts.before ?? []),
    ...section(7, list(bodies.map((_, at) => [...sized([...Buffer.from(String(at))]), 0x00, ...leb(at)]))),
    ...(parts.elements ?? []),
    ...section(10, list(bodies.map((body) => sized([...(parts.locals ?? [0x00]), ...body, 0x0b])))),
  ];
}

/** A table of functions that holds the given ones: what `call_indirect` needs. */
export function tableOf(functions: readonly number[]): Required<Pick<WasmParts, 'before' | 'elements'>> {
  return {
    before: section(4, [0x01, 0x70, 0x00, ...leb(functions.length)]),
    elements: section(9, [0x01, 0x00, 0x41, 0x00, 0x0b, ...list(functions.map(leb))]),
  };
}

/** An expression of a worker that is these bytes. */
export function bytesText(bytes: readonly number[]): string {
  return `new Uint8Array([${bytes.join()}])`;
}
