// Preferences of this browser: theme and time zone. Stored in localStorage, if available.
import { useSyncExternalStore } from 'react';
import type { TimeZone } from './time-text.ts';

type Theme = 'system' | 'light' | 'dark';

interface Preferences {
  readonly theme: Theme;
  readonly timeZone: TimeZone;
}

const KEY = 'platform-preferences';
const listeners = new Set<() => void>();
let current = read();

function read(): Preferences {
  try {
    const { theme, timeZone } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, unknown>;
    return {
      theme: theme === 'light' || theme === 'dark' ? theme : 'system',
      timeZone: timeZone === 'UTC' ? 'UTC' : 'local',
    };
  } catch {
    return { theme: 'system', timeZone: 'local' };
  }
}

/** Changes preferences, in every open page of this browser. */
export function prefer(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // Without localStorage, preferences last until the page is closed.
  }
  tell();
}

/** Applies the theme, now and on changes. */
export function startPreferences(): void {
  addEventListener('storage', (event) => {
    if (event.key !== KEY) return;
    current = read();
    tell();
  });
  applyTheme();
}

function tell(): void {
  applyTheme();
  for (const listener of listeners) listener();
}

function applyTheme(): void {
  const { dataset } = document.documentElement;
  if (current.theme === 'system') delete dataset['theme'];
  else dataset['theme'] = current.theme;
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => current,
  );
}
