// Copies a text, and says that it has.
import { CheckIcon, CopyIcon } from '@radix-ui/react-icons';
import { useEffect, useState } from 'react';
import { IconButton } from './button.tsx';

const SHOWN_MS = 1500;

interface CopyButtonProps {
  readonly text: string;
  /** "Copy" by default. */
  readonly label?: string;
}

export function CopyButton({ text, label = 'Copy' }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async (): Promise<void> => {
    await copyText(text);
    setCopied(true);
  };
  return (
    <IconButton size="small" label={isCopied ? 'Copied' : label} onClick={() => void copy()}>
      {isCopied ? <CheckIcon /> : <CopyIcon />}
    </IconButton>
  );
}

/** Puts a text on the clipboard, also where the page is not on a secure origin. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}
