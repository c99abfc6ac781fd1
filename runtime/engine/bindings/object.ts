// The host half of object bindings: checks a worker's requests to a durable object, and passes them to `reach` or
// `connect`, which find the object (serving/objects/). Everything in `args` comes from a worker.
import { PassThrough } from 'node:stream';
import type { PlatformError } from '#core/errors.ts';
import type { ObjectAddress } from '#core/object-address.ts';
import type { HostCall, HostFunction, SyncHostFunction } from '../bridge/host-calls.ts';
import { invalid, toRecord } from './arguments.ts';
import { FORBIDDEN } from './fetch.ts';
import { onceRead, reply, signalOf, type FetchedResponse } from './fetched-response.ts';
import { createIdCheck } from './object-ids.ts';
import type { OpenFetches } from './open-fetches.ts';
import type { ObjectRequest } from './platform-hosts.ts';
import { receiveBody } from './streamed-body.ts';
import { openerOf, sessionOf } from './service.ts';
import { withTrace } from './trace-headers.ts';
import type { WorkerSession } from './worker-calls.ts';

/** A class of objects that a deployment declares. */
export interface ObjectClass {
  /** The text from which the ids of the class are derived. */
  readonly key: string;
  readonly class: string;
  /** The first name of the class, which is in the address of its events. */
  readonly firstName: string;
  /** Whether the class belongs to another project. The branch that has the objects may then change. */
  readonly isForeign: boolean;
  /** For traces, the project whose code runs the object; null means the project of the caller. */
  readonly project: string | null;
  /** Sends a request to an object, in whichever engine it is. */
  readonly reach: (address: ObjectAddress, target: URL, request: ObjectRequest) => Promise<FetchedResponse>;
  /** Opens an RPC session with an object; resolves when the session ends. */
  readonly connect: (address: ObjectAddress, session: WorkerSession) => Promise<void>;
}

interface ObjectCallsDeps {
  /**
   * The class of a binding; null if there is no such binding.
   *
   * @throws {PlatformError} `service_not_found` when the project that has it cannot be called.
   */
  readonly find: (binding: string) => ObjectClass | null;
  readonly places: OpenFetches;
}

const NAME_CHARS_MAX = 1024;

/**
 * The calls of a deployment's object bindings: `object.fetch` and `object.connect`, which work like the calls of
 * services.
 */
export function createObjectCalls({ find, places }: ObjectCallsDeps): {
  readonly async: Readonly<Record<string, HostFunction>>;
  readonly sync: Readonly<Record<string, SyncHostFunction>>;
} {
  const isId = createIdCheck();
  const classOf = (binding: unknown): ObjectClass => {
    const found = typeof binding === 'string' ? find(binding) : null;
    if (found === null) throw invalid('There is no such object binding');
    return found;
  };

  function addressOf(
    { key, firstName }: ObjectClass,
    { id, name }: Readonly<Record<string, unknown>>,
    op: ObjectAddress['op'],
    protocol: ObjectAddress['protocol'],
  ): ObjectAddress {
    if (name !== undefined && (typeof name !== 'string' || name.length > NAME_CHARS_MAX))
      throw invalid('The name of an object is not valid');
    if (!isId(key, id, name)) throw invalid('The id does not belong to an object of this class');
    return {
      id,
      class: firstName,
      ...(name === undefined ? {} : { name }),
      op,
      protocol,
    };
  }

  return {
    async: {
      'object.fetch': (call) => {
        const args = toRecord(call.args);
        const { method, url, headers, stream, socket } = args;
        if (typeof method !== 'string' || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/.test(method))
          throw invalid('The method is not valid');
        if (typeof url !== 'string' || !URL.canParse(url)) throw invalid('The URL is not valid');
        if (typeof headers !== 'string') throw invalid('The headers are not valid');
        if (stream !== null && !Number.isSafeInteger(stream)) throw invalid('The body is not valid');
        const target = new URL(url);
        const { protocol } = target;
        if (protocol !== 'http:' && protocol !== 'https:')
          throw invalid('The URL of a request to an object must begin with http or https');
        const of = classOf(args['binding']);
        const address = addressOf(of, args, 'fetch', protocol);
        const opener = socket === undefined ? null : openerOf(call, socket, false);
        call.owner.countSubrequest();
        // The stream is opened before the first await, because its first chunk may come in the same records.
        const body = stream === null ? (call.parts[0] ?? null) : receiveBody(call, stream as number);
        const answer = ask(call, of, address, target, { method, headers: toList(headers), body, socket: opener });
        // The stream is cancelled if the request failed before its body was read.
        if (body instanceof PassThrough) answer.catch(() => body.destroy());
        return answer;
      },
      'object.connect': async (call) => {
        const args = toRecord(call.args);
        const of = classOf(args['binding']);
        const address = addressOf(of, args, 'rpc', 'https:');
        call.span?.set('object.class', of.class);
        call.span?.set('object.id', address.id);
        if (of.project !== null) call.span?.set('peer.service', of.project);
        await of.connect(address, sessionOf(call));
        return {};
      },
    },
    sync: {
      'object.class': (args) => {
        try {
          const { key, class: className, isForeign } = classOf(toRecord(args)['binding']);
          return { key, class: className, isForeign };
        } catch (error) {
          // Errors of synchronous calls have no code in the isolate.
          const { code, message } = error as PlatformError;
          return { failure: { code, message } };
        }
      },
    },
  };

  async function ask(
    call: HostCall,
    of: ObjectClass,
    address: ObjectAddress,
    target: URL,
    {
      method,
      headers,
      body,
      socket,
    }: Pick<ObjectRequest, 'method' | 'body' | 'socket'> & { readonly headers: string[] },
  ): ReturnType<typeof reply> {
    const { span } = call;
    span?.calls(toRecord(call.args)['binding'], 'fetch');
    span?.set('http.request.method', method.toUpperCase());
    span?.set('object.class', of.class);
    span?.set('object.id', address.id);
    if (of.project !== null) span?.set('peer.service', of.project);
    const leave = places.take(call.isolate);
    let response: FetchedResponse;
    try {
      response = await of.reach(address, target, {
        method,
        headers: withTrace(
          socket === null ? headers : [...headers, 'upgrade', 'websocket'],
          call.owner.trace,
          span?.id,
        ),
        socket,
        body,
        signal: signalOf(call),
        received: (name) => call.owner.header(name),
      });
    } catch (error) {
      leave();
      throw error;
    }
    span?.set('http.response.status_code', response.statusCode);
    onceRead(response, leave);
    const answer = await reply(call, response, target, false);
    if (response.statusCode !== 101) return answer;
    return { value: { ...(answer.value as object), upgraded: true, unread: true, protocol: '', extensions: '' } };
  }
}

function toList(block: string): string[] {
  const list: string[] = [];
  const fields = block.split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2)
    if (!FORBIDDEN.test(fields[at]!)) list.push(fields[at]!, fields[at + 1]!);
  return list;
}
