// Confirmation dialogs for irreversible actions. Reversible actions offer undo for ten seconds instead (toast.ts).
import { useState, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field, Input } from './field.tsx';

interface ConfirmProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** A question: "Delete guest-book?" */
  readonly title: string;
  /** The consequence, in one sentence. */
  readonly children: ReactNode;
  /** Label of the button: "Delete project". */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly isPending?: boolean;
  /** Why the action failed. */
  readonly error?: string | null;
  readonly isDanger?: boolean;
}

/** A confirmation with one button. */
export function Confirm({
  isOpen,
  onClose,
  title,
  children,
  action,
  onConfirm,
  isPending = false,
  error,
  isDanger = false,
}: ConfirmProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={title}
      onSubmit={onConfirm}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant={isDanger ? 'danger' : 'primary'} isPending={isPending} autoFocus={!isDanger}>
            {action}
          </Button>
        </>
      }
    >
      <div>{children}</div>
      {error !== null && error !== undefined && (
        <p role="alert" style={{ color: 'var(--failed)' }}>
          {error}
        </p>
      )}
    </Dialog>
  );
}

/** A confirmation for which the user types the name of the deleted object. */
export function ConfirmByName({ name, ...props }: Omit<ConfirmProps, 'isDanger'> & { readonly name: string }) {
  const [typed, setTyped] = useState('');
  const { isOpen, onClose, title, children, action, onConfirm, isPending = false, error } = props;
  const close = (): void => {
    setTyped('');
    onClose();
  };
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title={title}
      onSubmit={() => typed === name && onConfirm()}
      footer={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" variant="danger" disabled={typed !== name} isPending={isPending}>
            {action}
          </Button>
        </>
      }
    >
      <div>{children}</div>
      <Field label={`Type ${name} to confirm`} error={error}>
        {(control) => (
          <Input {...control} isCode value={typed} onChange={(event) => setTyped(event.target.value)} autoFocus />
        )}
      </Field>
    </Dialog>
  );
}
