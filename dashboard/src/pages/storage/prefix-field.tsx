// A prefix filter, written to `?prefix=` of the URL shortly after typing.
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Input } from '../../components/field.tsx';
import styles from './storage.module.css';

const TYPING_MS = 300;

export function PrefixField({ label, name = 'prefix' }: { readonly label: string; readonly name?: string }) {
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const shown = typeof search[name] === 'string' ? search[name] : '';
  const [typed, setTyped] = useState(shown);
  const [last, setLast] = useState(shown);
  const navigate = useNavigate();
  // The field takes its value from the URL after back and forward navigation, but not after its own changes.
  if (shown !== last) {
    setLast(shown);
    setTyped(shown);
  }
  useEffect(() => {
    if (typed === shown) return;
    const timer = setTimeout(() => {
      setLast(typed);
      void navigate({
        to: '.',
        search: (before: object) => ({ ...before, [name]: typed === '' ? undefined : typed }),
        replace: true,
      } as never);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, shown, name, navigate]);
  return (
    <Input
      className={styles.grow}
      type="search"
      aria-label={label}
      placeholder={`${label}…`}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}
