import { action, redirect, useSearchParams } from '@solidjs/router';

const send = action(async (form: FormData) => {
  'use server';
  throw redirect(`/form?name=${encodeURIComponent(String(form.get('name')))}`);
}, 'send');

export default function Form() {
  const [params] = useSearchParams();
  return (
    <form action={send} method="post">
      <input name="name" />
      <button>Send</button>
      {params.name && <p>Thanks, {params.name}</p>}
    </form>
  );
}
