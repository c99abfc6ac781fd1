// Server-sent events of the API: follows a path while a component is mounted, and resumes after a broken connection.
import { useEffect, useEffectEvent, useState } from 'react';
import { noteAnswered } from './connection.ts';

const AGAIN_MS = 1000;
const AGAIN_MS_MAX = 15_000;

/** One event. `name` is `message` by default. */
export interface ServerEvent {
  readonly name: string;
  readonly id: string;
  readonly text: string;
}

/** How a stream is followed. */
interface Following {
  /** Names of events to listen for, in addition to unnamed events. */
  readonly names?: readonly string[];
  /** @returns `end` to close the stream. */
  readonly onEvent: (event: ServerEvent) => 'end' | void;
}

/**
 * Follows `/api` + path; null follows no events. A broken connection is reopened with `Last-Event-ID`, and a refused
 * one after an increasing delay.
 *
 * @returns whether the stream is open; if it is closed, pages show a notice.
 * @example useEvents(`/deployments/${id}/logs?follow=true`, { names: ['line', 'end'], onEvent });
 */
export function useEvents(path: string | null, { names = [], onEvent }: Following): boolean {
  const [isOpen, setOpen] = useState(false);
  const hear = useEffectEvent(onEvent);
  const heard = names.join(' ');
  useEffect(() => {
    if (path === null) return;
    let source: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let pauseMs = AGAIN_MS;
    let last = '';
    const open = (): void => {
      const url = new URL(`/api${path}`, location.origin);
      source = new EventSource(last === '' ? url : withLast(url, last));
      const take = (event: MessageEvent<string>): void => {
        last = event.lastEventId;
        if (hear({ name: event.type, id: event.lastEventId, text: event.data }) !== 'end') return;
        source?.close();
        setOpen(false);
      };
      source.addEventListener('open', () => {
        pauseMs = AGAIN_MS;
        noteAnswered();
        setOpen(true);
      });
      source.addEventListener('error', () => {
        setOpen(false);
        // The browser reopens broken connections by itself, but not refused ones.
        if (source?.readyState !== EventSource.CLOSED) return;
        timer = setTimeout(open, pauseMs);
        pauseMs = Math.min(pauseMs * 2, AGAIN_MS_MAX);
      });
      for (const name of ['message', ...heard.split(' ').filter(Boolean)]) source.addEventListener(name, take);
    };
    open();
    return () => {
      clearTimeout(timer);
      source?.close();
      setOpen(false);
    };
  }, [path, heard]);
  return isOpen;
}

/** A new EventSource cannot send `Last-Event-ID`, so the API's streams also accept `after`. */
function withLast(url: URL, last: string): URL {
  if (/^\d+$/.test(last)) url.searchParams.set('after', last);
  return url;
}
