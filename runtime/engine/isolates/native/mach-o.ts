// Reads the symbols of a macOS binary (Mach-O, 64 bits, one architecture). Used by build.ts and a test, with our own
// binaries.

const MAGIC = 0xfeedfacf;
const HEADER_BYTES = 32;
const LC_SYMTAB = 2;
const LC_CODE_SIGNATURE = 0x1d;
const SYMBOL_BYTES = 16;
const TYPE_BITS = 0x0e;
const EXTERNAL_BIT = 0x01;
/** Types of debugger entries, which are not symbols. */
const STAB_BITS = 0xe0;

interface MachSymbol {
  readonly name: string;
  readonly isDefined: boolean;
}

/** Symbols that a binary imports, with the leading underscore of that system. */
export function undefinedSymbols(binary: Buffer): string[] {
  return symbolsOf(binary).flatMap(({ name, isDefined }) => (isDefined ? [] : [name]));
}

/** Symbols that a binary exports. */
export function exportedSymbols(binary: Buffer): string[] {
  return symbolsOf(binary).flatMap(({ name, isDefined }) => (isDefined ? [name] : []));
}

/** Whether a binary is signed, because macOS loads no unsigned code. */
export function isSigned(binary: Buffer): boolean {
  return commandsOf(binary).some(({ kind }) => kind === LC_CODE_SIGNATURE);
}

/** Processor (`0x0100000c`: arm64). @throws {Error} for any other kind of file. */
export function processorOf(binary: Buffer): number {
  if (binary.length < HEADER_BYTES || binary.readUInt32LE(0) !== MAGIC) throw new Error('This is not a Mach-O binary');
  return binary.readUInt32LE(4);
}

function commandsOf(binary: Buffer): { kind: number; at: number }[] {
  processorOf(binary);
  const commands: { kind: number; at: number }[] = [];
  let at = HEADER_BYTES;
  for (let n = binary.readUInt32LE(16); n > 0; n--) {
    commands.push({ kind: binary.readUInt32LE(at), at });
    at += binary.readUInt32LE(at + 4);
  }
  return commands;
}

function symbolsOf(binary: Buffer): MachSymbol[] {
  const table = commandsOf(binary).find(({ kind }) => kind === LC_SYMTAB);
  if (table === undefined) throw new Error('The binary has no symbols');
  const [symbolsAt, count, textsAt] = [8, 12, 16].map((offset) => binary.readUInt32LE(table.at + offset));
  return Array.from({ length: count! }, (_, n) => symbolsAt! + n * SYMBOL_BYTES).flatMap((at) => {
    const type = binary.readUInt8(at + 4);
    if ((type & STAB_BITS) !== 0 || (type & EXTERNAL_BIT) === 0) return [];
    const from = textsAt! + binary.readUInt32LE(at);
    return [{ name: binary.toString('latin1', from, binary.indexOf(0, from)), isDefined: (type & TYPE_BITS) !== 0 }];
  });
}
