// A button that opens the form for a new record, and shows the secret of the record once.
import { PlusIcon } from '@radix-ui/react-icons';
import { useState, type ReactNode } from 'react';
import { Button } from '../components/button.tsx';
import { Secret, type SecretProps } from './secret.tsx';

/** Props that the button passes to its form. */
export interface AddFormProps {
  readonly onClose: () => void;
  /** Shows a secret; null if there is none. */
  readonly onSecret: (secret: string | null) => void;
}

interface AddButtonProps {
  /** "New token". */
  readonly label: string;
  /** Defaults to true; at most one button of a page is primary. */
  readonly isPrimary?: boolean;
  readonly size?: 'small' | 'normal';
  /** Title and hint of the secret. */
  readonly secret?: Omit<SecretProps, 'value' | 'onClose'>;
  /** The form. */
  readonly children: (form: AddFormProps) => ReactNode;
}

/** @example <AddButton label="New hook">{({ onClose }) => <NewHook onClose={onClose} />}</AddButton> */
export function AddButton({ label, isPrimary = true, size = 'normal', secret, children }: AddButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  return (
    <>
      <Button size={size} variant={isPrimary ? 'primary' : 'secondary'} onClick={() => setOpen(true)}>
        <PlusIcon /> {label}
      </Button>
      {isOpen && children({ onClose: () => setOpen(false), onSecret: setMade })}
      {made !== null && <Secret title={label} {...secret} value={made} onClose={() => setMade(null)} />}
    </>
  );
}
