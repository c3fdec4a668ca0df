/** Keys for one purpose: the first is what we sign with, and each of them is good when others come with it. */
export type Keyring<Key = Uint8Array> = readonly [Key, ...Key[]];
