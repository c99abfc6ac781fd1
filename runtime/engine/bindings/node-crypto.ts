// The host half of node:crypto. Ciphers stay open on the host, and work in pieces, one per tick. All other operations
// run on separate threads (work/crypto-operations.ts), because they take long, or Node has no asynchronous version of
// them. Hashes run in the guest.
import { createCipheriv, createDecipheriv, type CipherGCM, type DecipherGCM } from 'node:crypto';
import type { HostCall, HostFunction } from '../bridge/host-calls.ts';
import { cryptoBytes, cryptoCostMs, cryptoOperations } from '../work/crypto-operations.ts';
import { tooMuch, type Fields } from '../work/fields.ts';
import type { HostWork } from '../work/host-work.ts';
import { operationsCall, type Operation } from './node-reply.ts';

/** Maximum size of the data per call; the guest splits larger inputs. */
const CIPHER_CHUNK_BYTES_MAX = 1024 * 1024;
/** Size of the data that is processed at a time, in 50 to 90 us. */
const PIECE_BYTES = 64 * 1024;

const ciphers = ['128', '192', '256'].flatMap((bits) =>
  ['cbc', 'ctr', 'ecb', 'gcm', 'cfb', 'ofb'].map((mode) => `aes-${bits}-${mode}`),
);
ciphers.push('chacha20-poly1305');
const authenticated = /gcm|poly1305/;

function bounded(bytes: Uint8Array, most: number, what: string): Uint8Array {
  if (bytes.byteLength > most) throw tooMuch(what, bytes.byteLength, `at most ${most} bytes`);
  return bytes;
}

class OpenCipher {
  readonly cipher: CipherGCM & DecipherGCM;
  readonly tagged: boolean;
  readonly decrypts: boolean;
  /** Whether a step is in progress. */
  isBusy = false;
  constructor(cipher: CipherGCM & DecipherGCM, tagged: boolean, decrypts: boolean) {
    this.cipher = cipher;
    this.tagged = tagged;
    this.decrypts = decrypts;
  }
}

function openCipher(fields: Fields): OpenCipher {
  const algorithm = fields.text('algorithm').toLowerCase();
  if (!ciphers.includes(algorithm))
    throw Object.assign(new Error(`Unknown cipher: ${algorithm}`), { code: 'ERR_CRYPTO_UNKNOWN_CIPHER' });
  const decrypts = fields.raw('decrypts') === true;
  const tagged = authenticated.test(algorithm);
  const tagBytes = fields.optional('tagBytes', 4, 16);
  const iv = fields.bytes(1);
  const create = decrypts ? createDecipheriv : createCipheriv;
  const options = tagged && tagBytes !== undefined ? { authTagLength: tagBytes } : undefined;
  const cipher = (create as typeof createCipheriv)(
    algorithm as 'aes-256-gcm',
    bounded(fields.bytes(0), 64, 'The key'),
    algorithm.endsWith('ecb') ? null : bounded(iv, 128, 'The iv'),
    options as never,
  );
  if (fields.raw('autoPadding') === false) cipher.setAutoPadding(false);
  return new OpenCipher(cipher as CipherGCM & DecipherGCM, tagged, decrypts);
}

/**
 * The parts of one step are key, iv, additional data, tag to check, and data. The first step opens the cipher, the last
 * one closes it.
 */
function createCipherStep(work: HostWork): Operation {
  async function run(open: OpenCipher, data: Uint8Array, call: HostCall): Promise<Uint8Array[]> {
    const outputs: Uint8Array[] = [];
    for (let at = 0; at < data.byteLength; at += PIECE_BYTES)
      outputs.push(await work.piece(call, () => open.cipher.update(data.subarray(at, at + PIECE_BYTES))));
    return outputs;
  }

  return async (fields, call) => {
    const { handles } = call.isolate;
    let handle = fields.whole('handle', 0, Number.MAX_SAFE_INTEGER);
    const open = handle === 0 ? openCipher(fields) : handles.get(handle);
    if (!(open instanceof OpenCipher) || open.isBusy)
      throw Object.assign(new Error('Unsupported state'), { code: 'ERR_CRYPTO_INVALID_STATE' });
    const { cipher, tagged, decrypts } = open;
    const last = fields.raw('last') === true;
    try {
      const [aad, tag, data] = [
        fields.bytes(2),
        fields.bytes(3),
        bounded(fields.bytes(4), CIPHER_CHUNK_BYTES_MAX, 'The chunk'),
      ];
      if (aad.byteLength > 0)
        cipher.setAAD(bounded(aad, CIPHER_CHUNK_BYTES_MAX, 'The additional data'), {
          plaintextLength: data.byteLength,
        });
      if (tag.byteLength > 0 && decrypts) cipher.setAuthTag(tag);
      if (handle === 0 && !last) handle = handles.add(open, call.owner);
      let output: Uint8Array = new Uint8Array(0);
      if (data.byteLength > PIECE_BYTES) {
        open.isBusy = true;
        output = Buffer.concat(await run(open, data, call));
        open.isBusy = false;
      } else if (data.byteLength > 0) output = cipher.update(data);
      const rest = last ? cipher.final() : new Uint8Array(0);
      const made = last && tagged && !decrypts ? cipher.getAuthTag() : new Uint8Array(0);
      if (last) handles.delete(handle);
      return { value: { handle }, parts: [output, rest, made] };
    } catch (error) {
      handles.delete(handle);
      throw error;
    }
  };
}

/** The call `node.crypto`. */
export function createNodeCryptoCalls(work: HostWork): Readonly<Record<string, HostFunction>> {
  const operations: Record<string, Operation> = {
    cipher: createCipherStep(work),
    release: (fields, { isolate }) => {
      const handle = fields.raw('handle');
      if (isolate.handles.get(handle) instanceof OpenCipher) isolate.handles.delete(handle);
      return {};
    },
  };
  for (const op of Object.keys(cryptoOperations))
    operations[op] = async (fields, call) => {
      const costMs = cryptoCostMs(op, fields);
      const hold = call.isolate.memory.hold(cryptoBytes(op, fields), op);
      try {
        return await work.onThread(call, `crypto.${op}`, call.args, call.parts as readonly Uint8Array[], costMs);
      } finally {
        hold.release();
      }
    };
  return { 'node.crypto': operationsCall(operations) };
}
