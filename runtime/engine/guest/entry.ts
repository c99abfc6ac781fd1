// One entry into the isolate: reads the records from the host, and passes each to the file that handles it.
// entry-end.ts ends the entry. Hot path.
import { LEAVING, RecordReader, toGuest, toHost, type Failure, type Part } from '../bridge/protocol.ts';
import { finish } from './answers.ts';
import { breakStream, endStream, pushChunk, spliceStream } from './bodies-to-guest.ts';
import { failCall, gateOf, settleCall } from './calls.ts';
import { enterContext, type Native } from './context.ts';
import { setCallee, startEvent, startRequest, startSocketEvent } from './dispatch.ts';
import { callReleased, isServing } from './early-calls.ts';
import { connectEntryEnd, flush, forgetWake, type Leave } from './entry-end.ts';
import { runFinalizers } from './fences.ts';
import { beginEntry, findInvocation, touch } from './invocation.ts';
import { objectModule, settleObjects } from './object-records.ts';
import { cancelPump, creditPump } from './pumps.ts';
import { send } from './records.ts';
import { onRejection } from './rejections.ts';
import { socketClosed, socketFailed, socketMessage } from './sockets.ts';
import { reportUncaught } from './web/console.ts';
import { dueTimers } from './web/timers.ts';

let start: () => void = () => {};

/** Connects the entries to their isolate. @param onStart called for the record that asks whether the worker serves. */
export function connectEntry(native: Native, leave: Leave, onStart: () => void): void {
  start = onStart;
  connectEntryEnd(leave, isServing);
  native.bind(enter, flush, onRejection, leave);
}

/**
 * The records that are being read. Stays set if an entry is terminated while a handler runs, after the fields of its
 * record were read, and before the record was closed.
 */
let unread: RecordReader | null = null;

function enter(meta: string, text: string, ...bytes: Uint8Array[]): void {
  beginEntry();
  try {
    // Reads the records that a previous entry did not read because it was terminated.
    const rest = unread;
    callReleased();
    if (rest !== null) {
      rest.close();
      readAll(rest);
    }
    readAll(new RecordReader(meta, text, bytes));
    settleObjects();
  } catch (error) {
    unread = null;
    // This is a bug of the platform, or a built-in that the tenant broke, so the error goes to the tenant's log.
    enterContext(undefined);
    reportUncaught(error, 'The platform could not deliver an event:', undefined);
    // Without this, unread requests would wait for a response until the wall limit.
    send(toHost.fault, 'answer');
  }
}

function readAll(reader: RecordReader): void {
  unread = reader;
  read(reader);
  unread = null;
}

function read(reader: RecordReader): void {
  for (let letter = reader.next(); letter !== ''; letter = reader.next()) {
    switch (letter) {
      case toGuest.request:
        startRequest(reader);
        break;
      case toGuest.callee:
        setCallee(reader.part(reader.field()) as string);
        break;
      case toGuest.event:
        startEvent(reader);
        continue; // parts() has read the record
      case toGuest.result: {
        const id = reader.number();
        const value = reader.json();
        const parts = reader.parts();
        const gate = gateOf(id);
        if (gate?.isClosed === true) gate.later(() => touch(settleCall(id, value, parts)));
        else touch(settleCall(id, value, parts));
        settleObjects();
        continue; // parts() has read the record
      }
      case toGuest.failure: {
        const id = reader.number();
        const failure = reader.json() as Failure;
        const gate = gateOf(id);
        if (gate?.isClosed === true) gate.later(() => touch(failCall(id, failure)));
        else touch(failCall(id, failure));
        settleObjects();
        break;
      }
      case toGuest.object:
        startRequest(reader, true);
        settleObjects();
        break;
      case toGuest.socketEvent:
        startSocketEvent(reader);
        settleObjects();
        break;
      case toGuest.forget:
        objectModule().forget(reader.part(reader.field()) as string);
        break;
      case toGuest.chunk: {
        const id = reader.number();
        pushChunk(id, reader.part(reader.field()) as Uint8Array);
        break;
      }
      case toGuest.end:
        endStream(reader.number());
        break;
      case toGuest.spliced:
        spliceStream(reader.number());
        break;
      case toGuest.broken:
        breakStream(reader.number(), reader.json() as Failure);
        break;
      case toGuest.credit:
        creditPump(reader.number(), reader.number());
        break;
      case toGuest.cancel:
        cancelPump(reader.number());
        break;
      case toGuest.socketMessage: {
        const id = reader.number();
        socketMessage(id, reader.part(reader.field()) as Part);
        break;
      }
      case toGuest.socketFailed: {
        const id = reader.number();
        socketFailed(id, reader.json() as string);
        break;
      }
      case toGuest.socketClosed: {
        const id = reader.number();
        const code = reader.number();
        const reason = reader.json() as string;
        socketClosed(id, code, reason, reader.field() === '1');
        break;
      }
      case toGuest.hostCpu: {
        const invocation = findInvocation(reader.number());
        const cpuMs = reader.number();
        invocation?.spendOnHost(cpuMs);
        break;
      }
      case toGuest.start:
        start();
        break;
      case toGuest.timers:
        runFinalizers();
        dueTimers();
        forgetWake();
        break;
      case toGuest.abort:
      case toGuest.clientGone: {
        const invocation = findInvocation(reader.number());
        const failure = reader.json() as Failure;
        if (invocation === null) break;
        touch(invocation);
        if (failure.code === LEAVING) invocation.isKept = false;
        else {
          enterContext(invocation);
          invocation.abort(abortReason(failure));
          enterContext(undefined);
        }
        // A handler that was called continues without its client.
        if (letter === toGuest.abort || !isServing()) finish(invocation);
        break;
      }
      default:
        throw new Error(`Unknown record ${letter}`);
    }
    reader.close();
  }
}

function abortReason(failure: Failure): unknown {
  const error = new Error(failure.message);
  error.name = 'AbortError';
  return error;
}
