"""Wheels for Windows and macOS, whose files the readers are compared with other programs on."""

from __future__ import annotations

from tests.corpus.wheels import Wheel

WINDOWS = (
    Wheel(
        "grpcio-1.85.3-cp311-cp311-win_amd64.whl", "fd039b47f6ac0bd6744250725fd5753d5c27151bcedc2e800983641f7304ba60", 6
    ),
    Wheel(
        "lxml-6.1.3-cp311-cp311-win_amd64.whl", "7ae4949f212a53b007dbc355884fda122545c5764a54256c9217e419a62a6559", 4
    ),
    Wheel(
        "msgspec-0.22.0-cp311-cp311-win_amd64.whl",
        "024138c51afd335d0b4dce401be33902caafac2b64f8c9f2509a378986175d98",
        1,
    ),
    Wheel(
        "numpy-2.1.0-cp311-cp311-win_amd64.whl", "0af3a5987f59d9c529c022c8c2a64805b339b7ef506509fba7d0556649b9714b", 13
    ),
    Wheel(
        "pandas-2.2.3-cp311-cp311-win_amd64.whl", "3fc6873a41186404dad67245896a6e440baacc92f5b716ccd1bc9ed2995ab2c5", 12
    ),
    Wheel(
        "pillow-13.0.0-cp311-cp311-win_amd64.whl", "d7710eb676e9bb68965cb045be0d333b4c0d7f9dfbaa7fbf121385b1588683d3", 7
    ),
    Wheel(
        "pyarrow-18.0.0-cp311-cp311-win_amd64.whl",
        "2c992716cffb1088414f2b478f7af0175fd0a76fea80841b1706baa8fb0ebaad",
        25,
    ),
    Wheel(
        "pyzmq-27.3.0-cp311-cp311-win_amd64.whl", "df98c790f86b6aa2378b4bb94dec7b85b0adb195b880b41e429a4990aed2a8c9", 1
    ),
    Wheel(
        "regex-2026.11.19-cp311-cp311-win_amd64.whl",
        "a45335075dd7fe5ea3127a6e0ee7beb95e719a9e0f6a64f5159e270c064b33c2",
        1,
    ),
    Wheel(
        "scipy-1.14.0-cp311-cp311-win_amd64.whl", "5b083c8940028bb7e0b4172acafda6df762da1927b9091f9611b0bcd8676f2bc", 45
    ),
    Wheel(
        "sentencepiece-0.2.3-cp311-cp311-win_amd64.whl",
        "a01e76cf49a0c1abc527c4e5fd6d3a87a3139a1d3ad2d5761567179a70805cce",
        2,
    ),
    Wheel(
        "torch-2.8.0-cp311-cp311-win_amd64.whl", "8c7ef765e27551b2fbfc0f41bcf270e1292d9bf79f8e0724848b1682be6e80aa", 241
    ),
    Wheel(
        "torchaudio-2.8.0-cp311-cp311-win_amd64.whl",
        "078105bf80f725c0215a0bebac8cb2fb1b3993ab32bdc3fcd50145a5b4127001",
        3,
    ),
    Wheel(
        "torchcodec-0.17.0-cp311-cp311-win_amd64.whl",
        "9267dc578c4de6710d4686d52bb2e8dc9a44ad404e775957f4428375311ebc60",
        7,
    ),
    Wheel(
        "torchvision-0.23.0-cp311-cp311-win_amd64.whl",
        "09bfde260e7963a15b80c9e442faa9f021c7e7f877ac0a36ca6561b367185013",
        2,
    ),
)
MACOS = (
    Wheel(
        "grpcio-1.85.3-cp311-cp311-macosx_11_0_universal2.whl",
        "053622a5e8ad0ab88ac6a381c99bc1931f17e8760ea1938b23140e1c72af2b64",
        13,
    ),
    Wheel(
        "lxml-6.1.3-cp311-cp311-macosx_10_9_universal2.whl",
        "c66f858b82497173f73366795fc6ee8171620e75a338506d6b2e7bc16f5fca11",
        9,
    ),
    Wheel(
        "msgspec-0.22.0-cp311-cp311-macosx_11_0_arm64.whl",
        "dce29a04966e31abf9b83b697c6d672486526dc5d03fcd6970cb56d5dc1fbeea",
        1,
    ),
    Wheel(
        "numpy-2.1.0-cp311-cp311-macosx_14_0_arm64.whl",
        "f8e93a01a35be08d31ae33021e5268f157a2d60ebd643cfc15de6ab8e4722eb1",
        5,
    ),
    Wheel(
        "pandas-2.2.3-cp311-cp311-macosx_11_0_arm64.whl",
        "7c2875855b0ff77b2a64a0365e24455d9990730d6431b9e0ee18ad8acee13dbd",
        11,
    ),
    Wheel(
        "pillow-13.0.0-cp311-cp311-macosx_11_0_arm64.whl",
        "37290fbef0c73e2d51d594eb78fded7dc7170d1c3ad0a890269e6fd8c8c4e061",
        5,
    ),
    Wheel(
        "pyarrow-18.0.0-cp311-cp311-macosx_12_0_arm64.whl",
        "d5795e37c0a33baa618c5e054cd61f586cf76850a251e2b21355e4085def6280",
        30,
    ),
    Wheel(
        "pyzmq-27.3.0-cp311-cp311-macosx_10_15_universal2.whl",
        "86fb4408797aabb54a31e147176ae0f2474d99f1715a36a4564089eca9ef9ce8",
        1,
    ),
    Wheel(
        "regex-2026.11.19-cp311-cp311-macosx_11_0_arm64.whl",
        "d48b59a6c27fc1a888615bcb96dd47a2f0c6846cc1ce4642f7099a8c0f3235b9",
        1,
    ),
    Wheel(
        "scipy-1.14.0-cp311-cp311-macosx_12_0_arm64.whl",
        "f0a50da861a7ec4573b7c716b2ebdcdf142b66b756a0d392c236ae568b3a93fb",
        30,
    ),
    Wheel(
        "sentencepiece-0.2.3-cp311-cp311-macosx_11_0_arm64.whl",
        "6b94ccd8554338970e1d73959a7e3ed4d110a60dab95d459990b30a508fa0998",
        1,
    ),
    Wheel(
        "torch-2.8.0-cp311-none-macosx_11_0_arm64.whl",
        "5ae0524688fb6707c57a530c2325e13bb0090b745ba7b4a2cd6a3ce262572916",
        74,
    ),
    Wheel(
        "torchaudio-2.8.0-cp311-cp311-macosx_11_0_arm64.whl",
        "c9276857d241c6de257af765c0f51fc011af38cb725401495121b280913007cf",
        2,
    ),
    Wheel(
        "torchcodec-0.17.0-cp311-cp311-macosx_14_0_arm64.whl",
        "94f3391db6a35b1fe4f1c41f02e6fb3950ba62020f2812b67d317bc3d2cb8966",
        4,
    ),
    Wheel(
        "torchvision-0.23.0-cp311-cp311-macosx_11_0_arm64.whl",
        "49aa20e21f0c2bd458c71d7b449776cbd5f16693dd5807195a820612b8a229b7",
        2,
    ),
)
