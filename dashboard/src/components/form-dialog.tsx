// A dialog that asks for something and sends it: its fields, a button that does it, one that does not.
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface FormDialogProps {
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly isWide?: boolean;
  /** What the button says: "Make token". */
  readonly action: string;
  readonly onSubmit: () => void;
  /** It was sent, and not answered yet. */
  readonly isPending: boolean;
  /** Something is missing that the fields themselves do not ask for. */
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
}

/** @example <FormDialog onClose={close} title="New token" action="Make token" onSubmit={make} isPending>... */
export function FormDialog({ action, isPending, isDisabled = false, children, ...rest }: FormDialogProps) {
  return (
    <Dialog
      isOpen
      {...rest}
      footer={
        <>
          <Button onClick={rest.onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={isDisabled} isPending={isPending}>
            {action}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}
