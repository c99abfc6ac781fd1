// The menu of a record in a list: its actions, and Delete, which can be undone.
import type { QueryKey } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ActionsMenu, MenuItem } from '../components/menu.tsx';
import { useRemoval } from './removals.ts';

interface RowMenuProps {
  readonly id: string;
  /** Name of the record. */
  readonly name: string;
  /** The list, refetched after a deletion. */
  readonly queryKey: QueryKey;
  /** Toast of a deletion: "Drain search deleted". */
  readonly deleted: string;
  /** Calls the API. */
  readonly onDelete: () => Promise<unknown>;
  /** Items before Delete. */
  readonly children?: ReactNode;
}

export function RowMenu({ id, name, queryKey, deleted, onDelete, children }: RowMenuProps) {
  const remove = useRemoval(queryKey);
  return (
    <ActionsMenu of={name}>
      {children}
      <MenuItem isDanger onSelect={() => remove(id, deleted, onDelete)}>
        Delete
      </MenuItem>
    </ActionsMenu>
  );
}
